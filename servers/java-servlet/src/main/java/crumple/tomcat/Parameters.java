package crumple.tomcat;

import jakarta.servlet.http.HttpServletRequest;

/** The query of a request, read as the contract has it; an absent one has its default. */
record Parameters(HttpServletRequest request) {

  /**
   * A whole number in decimal digits.
   *
   * @throws BadRequestException where it is none, or lies outside its range
   */
  int whole(String name, int byDefault, int least, int most) {
    String text = text(name);
    if (text == null) {
      return byDefault;
    }
    if (text.matches("[0-9]{1,9}")) {
      int value = Integer.parseInt(text);
      if (least <= value && value <= most) {
        return value;
      }
    }
    throw new BadRequestException(name + " must be a whole number from " + least + " to " + most);
  }

  /**
   * How the workload file is to make its string.
   *
   * @throws BadRequestException where the query names another way
   */
  RandomText.Fill fill() {
    String text = text("fill");
    if (text == null || text.equals("each")) {
      return RandomText.Fill.EACH;
    }
    if (text.equals("bulk")) {
      return RandomText.Fill.BULK;
    }
    throw new BadRequestException("fill must be each or bulk");
  }

  private String text(String name) {
    try {
      return request.getParameter(name);
    } catch (IllegalStateException undecodable) {
      throw new BadRequestException("the query cannot be decoded");
    }
  }
}
